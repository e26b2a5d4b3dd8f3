import type { WorkspaceCard as Card } from '@workspace-account/client';
import { useWorkspaces } from '@workspace-account/react';
import { Empty, Loaded, Screen } from './screen.tsx';
import { Time, toWords } from './texts.tsx';

/** The user's workspaces in all projects. */
export function WorkspacesScreen() {
  const { workspaces, ...loading } = useWorkspaces();
  return (
    <Screen title="Workspaces">
      <Loaded of={loading} isMissing={workspaces === undefined}>
        {workspaces?.length === 0 && (
          <Empty icon="box" title="No workspaces" text="A workspace appears here when it is created." />
        )}
        <ul className="cards">
          {workspaces?.map((workspace) => (
            <WorkspaceItem key={workspace.id} {...workspace} />
          ))}
        </ul>
      </Loaded>
    </Screen>
  );
}

function WorkspaceItem({ projectId, status, gitRef, errorMessage, keepActive, updatedAt, hardware }: Card) {
  const { cpus, cpuKind, memoryMb, volumeSizeGb, gpuKind } = hardware;
  return (
    <li className="card workspace">
      <h2 tabIndex={-1}>{projectId}</h2>
      <span className="pill" data-tone={status}>
        {toWords(status)}
      </span>
      <p className="meta">
        {gitRef && <code>{gitRef.replace(/^refs\/(heads|tags)\//, '')}</code>}
        <span>
          {cpus} {cpuKind} CPUs, {Math.round(memoryMb / 1024)} GB memory, {volumeSizeGb} GB disk
          {gpuKind && `, GPU ${gpuKind}`}
        </span>
        <Time at={updatedAt} />
        {keepActive && <span>Kept active</span>}
      </p>
      {errorMessage && <p className="problem">{errorMessage}</p>}
    </li>
  );
}
