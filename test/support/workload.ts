import { expect } from 'vitest';
import { graphql, rest } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { member, platform } from './tokens.ts';

/** A notification whose publication was sent, successfully or not. */
export type Published = { id: string; task: string; kind: string; time: string };

/** The operations on a user's records, and their results. */
export type Account = {
  published: Published[];
  created: string[];
  resolutions: { task: string; before: string | undefined }[];
  resolved: string[];
  dismissed: string[];
  preferences: unknown[];
  versions: string[];
  refreshedFrom: string[];
  puts: { id: string; time: string }[];
  deletions: { id: string; time: string }[];
};

const emptyAccount = (): Account => ({
  published: [],
  created: [],
  resolutions: [],
  resolved: [],
  dismissed: [],
  preferences: [],
  versions: [],
  refreshedFrom: [],
  puts: [],
  deletions: [],
});

/** Sends concurrent operations of a few users to several gateways. */
export class Workload {
  readonly users: readonly string[];
  readonly #gateways: readonly TestGateway[];
  readonly #accounts = new Map<string, Account>();

  constructor(gateways: readonly TestGateway[], users: readonly string[]) {
    this.#gateways = gateways;
    this.users = users;
  }

  get database() {
    return this.at(0).database;
  }

  readonly account = (user: string): Account => {
    const account = this.#accounts.get(user) ?? emptyAccount();
    this.#accounts.set(user, account);
    return account;
  };

  /** Returns the gateway that runs the operation with this index. */
  at(index: number): TestGateway {
    const gateway = this.#gateways[index % this.#gateways.length];
    if (gateway === undefined) throw new Error('A workload needs a gateway.');
    return gateway;
  }

  /** Sends a document as the platform; `codes` are its errors' codes. */
  async asPlatform(index: number, query: string, variables: Record<string, unknown>) {
    const { data, errors } = await graphql(this.at(index), query, variables, { token: await platform() });
    return { data, codes: errors.map(({ extensions }) => extensions.code) };
  }

  /** Sends a document as the platform or as a user, and expects it to succeed. */
  async send(index: number, query: string, variables: Record<string, unknown>, user?: string) {
    const token = user === undefined ? await platform() : await member(user);
    const { data, errors } = await graphql(this.at(index), query, variables, { token });
    expect(errors).toEqual([]);
    return data;
  }

  /** Sends a user's REST request and expects it to succeed. */
  async rest(index: number, method: string, path: string, user: string, body?: object) {
    const token = await member(user);
    const reply = await rest(this.at(index), method, path, { token, ...(body && { body }) });
    expect(reply.status).toBeLessThan(300);
    return reply.body;
  }
}
