import type { Connection } from '@workspace-account/client';
import { useSyncExternalStore } from 'react';
import { useInboxClient } from './inbox-provider.tsx';

/** The live connection. */
export type UseConnection = Connection & {
  /** Tries at once, instead of at `retryAt`. */
  reconnect(): void;
};

const IDLE: Connection = { state: 'idle', retryAt: undefined, error: undefined };
const getIdle = () => IDLE;

/** Returns the state of the live connection. It opens no connection itself. */
export function useConnection(): UseConnection {
  const { connection, reconnect } = useInboxClient();
  return { ...useSyncExternalStore(connection.subscribe, connection.get, getIdle), reconnect };
}
