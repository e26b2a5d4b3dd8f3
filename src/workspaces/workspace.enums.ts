export const workspaceStatuses = ['creating', 'starting', 'running', 'stopping', 'stopped', 'error'] as const;
export type WorkspaceStatus = (typeof workspaceStatuses)[number];
