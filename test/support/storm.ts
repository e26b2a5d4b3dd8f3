import { expect } from 'vitest';
import { graphql, rest } from './client.ts';
import type { TestGateway } from './gateway.ts';
import { member, platform } from './tokens.ts';

/** A notification that was sent, whether or not it has arrived. */
export type Published = { id: string; task: string; kind: string; time: string };

/** What was done to a user, and what the gateways replied. */
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

/** Changes of a few users over several gateways at once. */
export class Storm {
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

  /** The gateway that takes the step of this number. */
  at(index: number): TestGateway {
    const gateway = this.#gateways[index % this.#gateways.length];
    if (gateway === undefined) throw new Error('A storm needs a gateway.');
    return gateway;
  }

  /** Sends a document as the platform; `codes` are those of its errors. */
  async asPlatform(index: number, query: string, variables: Record<string, unknown>) {
    const { data, errors } = await graphql(this.at(index), query, variables, { token: await platform() });
    return { data, codes: errors.map(({ extensions }) => extensions.code) };
  }

  /** Sends a document that has to succeed, as the platform or as a user. */
  async send(index: number, query: string, variables: Record<string, unknown>, user?: string) {
    const token = user === undefined ? await platform() : await member(user);
    const { data, errors } = await graphql(this.at(index), query, variables, { token });
    expect(errors).toEqual([]);
    return data;
  }

  /** Sends a REST request of a user that has to succeed. */
  async rest(index: number, method: string, path: string, user: string, body?: object) {
    const token = await member(user);
    const reply = await rest(this.at(index), method, path, { token, ...(body && { body }) });
    expect(reply.status).toBeLessThan(300);
    return reply.body;
  }
}
