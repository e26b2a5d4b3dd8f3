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
            <p className="wa-meta">
              <strong>{status.toLowerCase()}</strong>
              {gitRef && <span dir="auto">{gitRef.replace(/^refs\/(heads|tags)\//, '')}</span>}
              <span>
                {hardware.cpus} {hardware.cpuKind} CPUs
              </span>
              <span>{Math.round(hardware.memoryMb / 1024)} GB RAM</span>
              <span>
                {hardware.volumeSizeGb} GB {say('disk', 'Speicherplatz')}
              </span>
              {hardware.gpuKind && <span>{hardware.gpuKind} GPU</span>}
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
