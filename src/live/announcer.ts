import type { EntityManager } from '../database/database.ts';
import type { Topic } from './hub.ts';

/** A committed change: the user, what changed, and the revision that the user's row reached. */
export type Change = { user: string; topic: Topic; revision: number };

/** Wakes this gateway's subscribers at once and tells the other gateways within milliseconds. Never throws, never waits. */
export type Announce = (changes: Change | readonly Change[]) => void;

/** What a domain function needs to change something. `Context` is one. */
export type Writer = { readonly em: EntityManager; readonly announce: Announce };
