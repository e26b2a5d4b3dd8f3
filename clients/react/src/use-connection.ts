import type { Connection } from '@workspace-account/client';
import { useSyncExternalStore } from 'react';
import { useInboxClient } from './inbox-provider.tsx';

const IDLE: Connection = { state: 'idle', retryAt: undefined, error: undefined };
const getIdle = () => IDLE;

/** Returns the state of the live connection. It opens no connection itself. */
export function useConnection(): Connection {
  const { connection } = useInboxClient();
  return useSyncExternalStore(connection.subscribe, connection.get, getIdle);
}
