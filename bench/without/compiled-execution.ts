import { execute, subscribe } from 'graphql';
import type { useCompiledExecution as original } from '../../src/graphql/plugins/compiled-execution.ts';
import { contextOf } from '../../src/server/caller.ts';

/** Executes every operation by graphql-js. */
export const useCompiledExecution: typeof original = () => ({
  onExecute({ args: { contextValue }, setExecuteFn }) {
    const context = contextOf(contextValue.res);
    setExecuteFn((args) => execute({ ...args, rootValue: args.rootValue ?? {}, contextValue: context }));
  },
  onSubscribe({ args: { contextValue }, setSubscribeFn }) {
    const context = contextOf(contextValue.res);
    setSubscribeFn((args) => subscribe({ ...args, rootValue: {}, contextValue: context }));
  },
});
