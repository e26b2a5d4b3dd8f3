import { InboxFailure, useWorkspaces } from '@workspace-account/react';
import { say } from './words.ts';

/** The user's workspaces in all projects. */
export function Workspaces() {
  const { workspaces, error, reload, hasMore, loadMore } = useWorkspaces();
  return (
    <>
      <h1 tabIndex={-1}>{say('Workspaces', 'Arbeitsbereiche')}</h1>
      {error && <InboxFailure error={error} retry={reload} />}
      {workspaces?.length === 0 && <p>{say('No workspaces', 'Keine Arbeitsbereiche')}</p>}
      <ul>
        {workspaces?.map(({ id, projectId, status, gitRef, errorMessage, hardware }) => (
          <li key={id} className="wa wa-panel">
            <h2>{projectId}</h2>
            <p className="wa-hint">
              <strong>{status.toLowerCase()}</strong> {gitRef?.replace(/^refs\/(heads|tags)\//, '')} ·{' '}
              {hardware.cpus} {hardware.cpuKind} CPUs, {Math.round(hardware.memoryMb / 1024)} GB,{' '}
              {hardware.volumeSizeGb} GB {hardware.gpuKind}
            </p>
            {errorMessage && <p className="wa-failure">{errorMessage}</p>}
          </li>
        ))}
      </ul>
      {hasMore && (
        <button type="button" onClick={() => void loadMore()}>
          {say('Show earlier', 'Frühere anzeigen')}
        </button>
      )}
    </>
  );
}
