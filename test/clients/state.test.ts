import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AccountStore } from '../../clients/typescript/src/account-store.ts';
import {
  answering,
  type Change,
  type DismissAllFilter,
  dismissal,
  dismissalOfAll,
  preferenceChanges,
  restoration,
  showChanges,
} from '../../clients/typescript/src/changes.ts';
import { MAX_UNUSED, selectList } from '../../clients/typescript/src/collection.ts';
import { filterKey, matchesNotification } from '../../clients/typescript/src/filters.ts';
import { GatewayError } from '../../clients/typescript/src/gateway-error.ts';
import type { NotificationFilter, NotificationKind } from '../../clients/typescript/src/generated/types.ts';
import { findNews } from '../../clients/typescript/src/news.ts';
import type { KnownNotificationCard, NotificationCard } from '../../clients/typescript/src/records.ts';
import {
  applyChanged,
  applyCounts,
  applyDismissed,
  applyEvent,
  applyNotification,
  applyNotifications,
  applyPreferences,
  emptyState,
  forgetArrivals,
  forgetUnused,
  notificationRules,
  type State,
} from '../../clients/typescript/src/state.ts';
import { AccountModel, createCard, createRequest } from './account-model.ts';

const AT = '2026-02-01T00:00:00.000Z';
const FILTERS: readonly NotificationFilter[] = [
  { statuses: ['ACTIVE'] },
  {},
  { requestStates: ['OPEN'] },
  { statuses: ['ACTIVE', 'RESOLVED'], projectIds: ['one'] },
];

const select = (state: State, filter: NotificationFilter) =>
  selectList(state.notifications, notificationRules, filterKey(filter));

/** Returns the state after the first page of a list. */
function load(filter: NotificationFilter, nodes: readonly NotificationCard[]): State {
  const page = { nodes, pageInfo: { hasNextPage: false, endCursor: null } };
  return applyNotifications(emptyState, { key: filterKey(filter), filter }, page, { since: 0 });
}

const eventOf = (notification: KnownNotificationCard) => ({
  cursor: '',
  content: { __typename: 'NotificationEvent' as const, notification },
});

const createPreference = (notificationKind: NotificationKind, emailEnabled = true) => ({
  ref: '',
  notificationKind,
  emailEnabled,
  pushEnabled: true,
  chatDmEnabled: true,
});

describe('filters', () => {
  const card = createCard({
    id: '1',
    task: { id: 'task', name: null, projectId: 'project', workspaceId: null },
    createdAt: '2026-01-01T10:00:00.000Z',
    request: createRequest('OPEN'),
  });
  test.each<[NotificationFilter, boolean]>([
    [{}, true],
    [{ statuses: null, kinds: undefined }, true],
    [{ statuses: ['ACTIVE', 'RESOLVED'] }, true],
    [{ statuses: ['DISMISSED'] }, false],
    [{ statuses: [] }, false],
    [{ kinds: ['PLAN_REQUESTED'] }, true],
    [{ kinds: ['TASK_FAILED'] }, false],
    [{ requestStates: ['OPEN'] }, true],
    [{ requestStates: ['ANSWERED'] }, false],
    [{ requestStates: [] }, false],
    [{ projectIds: ['project'] }, true],
    [{ projectIds: ['other'] }, false],
    [{ taskIds: ['task'] }, true],
    [{ taskIds: ['other'] }, false],
    [{ createdFrom: '2026-01-01T10:00:00Z' }, true],
    [{ createdFrom: '2026-01-01T11:00:00.001+01:00' }, false],
    [{ createdBefore: '2026-01-01T10:00:00.000Z' }, false],
    [{ createdBefore: '2026-01-01T10:00:00.001Z' }, true],
    [{ statuses: ['ACTIVE'], kinds: ['TASK_FAILED'] }, false],
  ])('%j', (filter, matches) => {
    expect(matchesNotification(filter, card)).toBe(matches);
  });

  test('a notification without a request has no state of one', () => {
    expect(matchesNotification({ requestStates: ['OPEN'] }, createCard({ id: '1' }))).toBe(false);
  });

  test('the order of conditions does not matter', () => {
    const one = filterKey({ kinds: ['TASK_FAILED', 'PLAN_REQUESTED'], statuses: ['ACTIVE'], taskIds: null });
    expect(one).toBe(filterKey({ statuses: ['ACTIVE'], kinds: ['PLAN_REQUESTED', 'TASK_FAILED'] }));
    expect(one).not.toBe(filterKey({ statuses: ['ACTIVE'], kinds: ['PLAN_REQUESTED'] }));
    expect(filterKey({ statuses: [] })).not.toBe(filterKey({}));
  });
});

describe('a list', () => {
  const create = (id: string) => createCard({ id, createdAt: `2026-01-0${id}T00:00:00.000Z` });
  const [old, middle, young] = [create('1'), create('2'), create('3')];
  const answered = { ...old, request: createRequest('ANSWERED') };
  const receipt = { outcome: 'ACCEPTED', message: null, at: AT } as const;

  test('ignores the state before it was acknowledged in the same millisecond', () => {
    const acknowledged = { ...answered, request: { ...answered.request, receipt } };
    expect(select(applyEvent(load({}, [acknowledged]), eventOf(answered)), {})).toEqual([acknowledged]);
    expect(select(applyEvent(load({}, [answered]), eventOf(acknowledged)), {})).toEqual([acknowledged]);
  });

  test('a page removes what the gateway deleted, and keeps what arrived since its request', () => {
    const state = load({}, [young, middle, old]);
    const since = state.arrivals;
    const later = applyEvent(state, eventOf(create('4')));
    const page = { nodes: [young, old], pageInfo: { hasNextPage: false, endCursor: null } };
    const reloaded = applyNotifications(later, { key: filterKey({}), filter: {} }, page, { since });
    expect(select(reloaded, {})?.map(({ id }) => id)).toEqual(['4', '3', '1']);
  });

  test('after a gap, also records with earlier times replace what is shown', () => {
    const state = forgetArrivals(load({}, [{ ...old, title: 'Lost', updatedAt: AT }]));
    expect(select(applyEvent(state, eventOf(old)), {})).toEqual([old]);
  });
});

describe('news', () => {
  const open = createCard({ id: '1', request: createRequest('OPEN') });
  /** Settled at 10 seconds past, and changed some seconds later, for instance by a receipt. */
  const settled = (secondsLater: number, request: KnownNotificationCard['request'] = ANSWERED) =>
    createCard({
      id: '1',
      status: 'RESOLVED',
      request,
      resolvedAt: '2026-02-01T00:00:10.000Z',
      updatedAt: `2026-02-01T00:00:${10 + secondsLater}.000Z`,
    });
  const ANSWERED = createRequest('ANSWERED');
  const answer = { answerId: 'own', by: null, via: 'GRAPHQL', answeredAt: AT } as const;
  const own = { ...ANSWERED, answer: { ...answer, plan: null, questions: null, reply: null } };

  // The inbox has followed the events for five seconds.
  test.each<[string, NotificationCard | undefined, KnownNotificationCard, 'arrived' | 'settled' | undefined]>(
    [
      ['a publication', undefined, open, 'arrived'],
      ['a restoration', undefined, { ...open, updatedAt: AT }, undefined],
      ['a settlement that is not loaded', undefined, settled(0), 'settled'],
      ['one and its receipt in one event', undefined, settled(5), 'settled'],
      ['one of before the inbox followed, and its receipt', undefined, settled(6), undefined],
      ['one of an open request, whenever it was', open, settled(6), 'settled'],
      ['a later change of one', settled(0), settled(1), undefined],
      ['an own answer', open, settled(0, own), undefined],
      ['a resolution without a request', undefined, settled(0, null), undefined],
    ],
  )('%s', (_name, known, card, expected) => {
    const news = findNews(load({}, known ? [known] : []), [eventOf(card)], new Set(['own']), 5000);
    expect(news).toEqual({ arrived: [], settled: [], ...(expected && { [expected]: [card] }) });
  });
});

describe('pending changes', () => {
  const open = createCard({ id: '1', request: createRequest('OPEN') });
  const byKind = [{ kind: 'PLAN_REQUESTED' as const, count: 3 }];
  const counts = { ref: '', cursor: '', total: 3, openRequests: 2, byKind };
  const state: State = { ...load({}, [open]), counts: { value: counts, arrival: 0 } };
  const dismissed = { status: 'DISMISSED', dismissedAt: AT };
  const dismissAll = (filter: DismissAllFilter) => dismissalOfAll({ openRequests: true, ...filter }, AT);
  const reject = { plan: { decision: 'REJECT', feedback: 'No' } } as const;
  const reply = { reply: { text: 'Go on' } };
  const answeredBy = (content: object) => ({ request: { state: 'ANSWERED', answer: content } });

  test.each<[string, Change[], object, object]>([
    ['dismissal', [dismissal('1', AT)], dismissed, { total: 2, openRequests: 2 }],
    ['dismissal and restoration', [dismissal('1', AT), restoration('1')], { status: 'ACTIVE' }, { total: 3 }],
    ['restoration of an active one', [restoration('1')], open, counts],
    ['dismissal of all but open requests', [dismissalOfAll({}, AT)], open, counts],
    ['dismissal of all', [dismissAll({})], dismissed, { total: 0, openRequests: 2 }],
    ['dismissal of another kind', [dismissAll({ kinds: ['TASK_FAILED'] })], open, counts],
    ['dismissal in a project', [dismissAll({ projectIds: ['project'] })], dismissed, { total: 2 }],
    ['dismissal in another project', [dismissAll({ projectIds: ['other'] })], open, counts],
    [
      'answer',
      [answering('1', reject, 'a', AT)],
      { status: 'RESOLVED', resolution: 'ANSWERED', ...answeredBy({ answerId: 'a', ...reject }) },
      { total: 2, openRequests: 1 },
    ],
    [
      'answer to a dismissed one',
      [dismissal('1', AT), answering('1', reply, 'a', AT)],
      { ...dismissed, ...answeredBy(reply) },
      { total: 2, openRequests: 1 },
    ],
  ])('%s', (_name, changes, card, expected) => {
    const shown = showChanges(state, changes);
    expect(select(shown, {})?.[0]).toMatchObject(card);
    expect(shown.counts?.value).toMatchObject(expected);
  });

  test('a dismissal of all leaves what arrives after it', () => {
    const seen = createCard({ id: 'seen', createdAt: '2026-01-01T10:00:00.000Z' });
    const next = createCard({ id: 'next', createdAt: '2026-01-01T10:00:00.001Z' });
    const state = load({ statuses: ['ACTIVE'] }, [next, seen]);
    const change = dismissalOfAll({ openRequests: true }, AT, seen.createdAt);
    expect(select(showChanges(state, [change]), { statuses: ['ACTIVE'] })).toEqual([next]);
  });

  test('preferences change in order, and without a kind for all kinds', () => {
    const preferences = [createPreference('TASK_FAILED'), createPreference('PLAN_REQUESTED')];
    const change = preferenceChanges([
      { emailEnabled: false, pushEnabled: false },
      { notificationKind: 'TASK_FAILED', emailEnabled: true, pushEnabled: null },
    ]);
    const state = applyPreferences(emptyState, preferences, { since: 0 });
    expect(showChanges(state, [change]).preferences?.value).toEqual([
      { ...preferences[0], pushEnabled: false },
      { ...preferences[1], emailEnabled: false, pushEnabled: false },
    ]);
  });
});

test('the memory of a list does not grow with the notifications that were dismissed', () => {
  const filter: NotificationFilter = { statuses: ['ACTIVE'] };
  const gateway = new AccountModel();
  let state = load(filter, []);
  for (let number = 0; number < 1000; number += 1) {
    gateway.publish('TASK_FAILED', 'one');
    const id = gateway.cards.at(-1)?.id ?? '';
    if (number % 100 > 0) gateway.dismiss(id);
    state = gateway.events.splice(0).reduce(applyEvent, state);
    state = forgetUnused(state, (key) => key === filterKey(filter));
  }
  expect(select(state, filter)).toEqual(gateway.list(filter));
  expect(state.notifications.entries.size).toBe(10 + MAX_UNUSED);
});

describe('replies that arrive late', () => {
  test('a reply from before a gap does not undo what was loaded after it', () => {
    const card = createCard({ id: '1', updatedAt: '2026-01-02T00:00:00.000Z', status: 'RESOLVED' });
    const state = load({}, [card]);
    const reply = { ...card, status: 'DISMISSED' as const, updatedAt: '2026-01-01T00:00:00.000Z' };
    const applied = applyChanged(forgetArrivals(state), [reply], { since: state.arrivals });
    expect(select(applied, {})).toEqual([card]);
  });

  test('a notification that an event brought is not hidden by an earlier request that did not find it', () => {
    const before = load({ statuses: ['ACTIVE'] }, []);
    const card = createCard({ id: 'late' });
    const state = applyEvent(before, eventOf(card));
    const late = applyNotification(state, 'late', null, { since: before.arrivals });
    expect(select(late, { statuses: ['ACTIVE'] })).toEqual([card]);
    const later = applyNotification(state, 'late', null, { since: state.arrivals });
    expect(select(later, { statuses: ['ACTIVE'] })).toEqual([]);
  });

  test('preferences are not replaced by those of a request that was sent before they arrived', () => {
    const preferences = (emailEnabled: boolean) => [createPreference('TASK_FAILED', emailEnabled)];
    const state = applyPreferences(emptyState, preferences(false), { since: 0 });
    expect(applyPreferences(state, preferences(true), { since: 0 }).preferences).toBe(state.preferences);
    const later = applyPreferences(state, preferences(true), { since: state.arrivals });
    expect(later.preferences?.value).toEqual(preferences(true));
  });
});

test('changes of all notifications and of one are sent in the order in which they were made', async () => {
  const store = new AccountStore({ signal: new AbortController().signal }, () => undefined);
  const sent: string[] = [];
  const replies = new Map<string, () => void>();
  const change = (name: string, key: string) =>
    store.mutate(
      key,
      {},
      () => {
        sent.push(name);
        const { promise, resolve } = Promise.withResolvers<void>();
        replies.set(name, resolve);
        return promise;
      },
      (state) => state,
    );
  const reply = async (name: string) => {
    replies.get(name)?.();
    await new Promise(setImmediate);
  };
  const changes = [
    change('dismiss one', 'notifications/1'),
    change('dismiss another', 'notifications/2'),
    change('dismiss all', 'notifications'),
    change('restore one', 'notifications/1'),
    change('disconnect', 'editor'),
  ];
  await new Promise(setImmediate);
  expect(sent).toEqual(['dismiss one', 'dismiss another', 'disconnect']);
  await reply('dismiss one');
  expect(sent).toHaveLength(3);
  await reply('dismiss another');
  expect(sent.slice(3)).toEqual(['dismiss all']);
  await reply('dismiss all');
  expect(sent.slice(4)).toEqual(['restore one']);
  await reply('restore one');
  await reply('disconnect');
  await Promise.all(changes);
});

type Page = ReturnType<AccountModel['page']>;

/** A request whose execution and reply are separate steps. */
type InFlight = { execute(): void; reply(): void; hasExecuted: boolean };

/** A client of a model, whose requests wait until they are executed, and then until they are answered. */
class ModelClient {
  readonly gateway = new AccountModel();
  readonly store = new AccountStore({ signal: new AbortController().signal }, () => undefined);
  readonly inFlight = new Set<InFlight>();
  readonly #loads = new Map<string, AbortController>();

  #send<Data>(execute: () => Data | undefined): Promise<Data> {
    const { promise, resolve, reject } = Promise.withResolvers<Data>();
    let data: Data | undefined;
    const request: InFlight = {
      hasExecuted: false,
      execute() {
        data = execute();
        request.hasExecuted = true;
      },
      reply: () => {
        this.inFlight.delete(request);
        if (data === undefined) reject(new GatewayError({ code: 'NOT_FOUND', message: 'Not found.' }));
        else resolve(data);
      },
    };
    this.inFlight.add(request);
    return promise;
  }

  /** Sends a query, which replaces an earlier one with the same key, as resources do. */
  #query<Data>(
    key: string,
    execute: () => Data,
    apply: (state: State, data: Data, sent: { since: number }) => State,
  ): void {
    this.#loads.get(key)?.abort();
    const loading = new AbortController();
    this.#loads.set(key, loading);
    const end = () => this.#loads.get(key) === loading && this.#loads.delete(key);
    this.store.query(() => this.#send(execute), apply, loading.signal).then(end, () => undefined);
  }

  load(filter: NotificationFilter, first: number): void {
    const key = filterKey(filter);
    this.#query(
      key,
      () => this.gateway.page(filter, first),
      (state, page: Page, sent) => applyNotifications(state, { key, filter }, page, sent),
    );
  }

  loadMore(filter: NotificationFilter): void {
    const key = filterKey(filter);
    const { end, endCursor } = this.store.shown.notifications.lists.get(key) ?? {};
    if (end === undefined || this.#loads.has(key)) return;
    this.#query(
      key,
      () => this.gateway.page(filter, 2, endCursor),
      (state, page: Page, sent) => applyNotifications(state, { key, filter, after: end }, page, sent),
    );
  }

  loadCounts(): void {
    this.#query('counts', () => this.gateway.counts(), applyCounts);
  }

  /** Forgets what is not used, except for some. */
  forget(): void {
    this.store.forgetUnused((key) => this.#loads.has(key), 2);
  }

  change(id: string, change: Change, execute: () => NotificationCard | undefined): void {
    this.store
      .mutate(
        `notifications/${id}`,
        change,
        () => this.#send(execute),
        (state, card, sent) => applyChanged(state, [card], sent),
      )
      .catch(() => undefined);
  }

  async dismissAll(): Promise<void> {
    const change = dismissalOfAll({}, AT);
    await this.store.mutate(
      'notifications',
      change,
      () => this.#send(() => this.gateway.dismissAll()),
      (state, { notifications }, sent) => applyDismissed(state, notifications, change, sent),
    );
  }

  deliver(count: number): void {
    const events = this.gateway.events.splice(0, count);
    this.store.receive(events);
  }

  /** Executes and answers all requests, and delivers all events. */
  async finish(eventsFirst: boolean): Promise<void> {
    while (this.inFlight.size > 0) {
      for (const request of this.inFlight) if (!request.hasExecuted) request.execute();
      if (eventsFirst) this.deliver(Number.POSITIVE_INFINITY);
      for (const request of this.inFlight) request.reply();
      await settle();
    }
    this.deliver(Number.POSITIVE_INFINITY);
  }

  /** Loses the events that were not delivered, and loads what is shown again. */
  loseEvents(): void {
    this.gateway.events = [];
    this.store.update(forgetArrivals);
    for (const filter of FILTERS) this.load(filter, 3);
    this.loadCounts();
  }
}

type Step = (client: ModelClient) => unknown;

const filters = fc.constantFrom(...FILTERS);
/** The execution of a request, a reply, or the delivery of events. */
const progress: readonly fc.Arbitrary<Step>[] = [
  fc.nat(10).map((place) => ({ inFlight }: ModelClient) => {
    const waiting = [...inFlight].filter(({ hasExecuted }) => !hasExecuted);
    waiting[place % Math.max(1, waiting.length)]?.execute();
  }),
  fc.nat(10).map((place) => ({ inFlight }: ModelClient) => {
    const executed = [...inFlight].filter(({ hasExecuted }) => hasExecuted);
    executed[place % Math.max(1, executed.length)]?.reply();
  }),
  fc.integer({ min: 1, max: 5 }).map((count) => (client: ModelClient) => client.deliver(count)),
];
const commonSteps: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({
      kind: fc.constantFrom('PLAN_REQUESTED' as const, 'TASK_FAILED' as const),
      project: fc.constantFrom('one', 'two'),
      milliseconds: fc.constantFrom(0, 1),
    })
    .map(({ kind, project, milliseconds }) => ({ gateway }: ModelClient) => {
      gateway.pass(milliseconds);
      gateway.publish(kind, project);
    }),
  fc
    .record({
      place: fc.nat(20),
      act: fc.constantFrom('dismiss' as const, 'restore' as const, 'answer' as const),
      who: fc.constantFrom('user' as const, 'refused' as const, 'other' as const),
    })
    .map(({ place, act, who }) => (client: ModelClient) => {
      const { gateway } = client;
      const card = gateway.cards[place % Math.max(1, gateway.cards.length)];
      if (card === undefined) return;
      const { id } = card;
      const [change, execute] = {
        dismiss: [dismissal(id, AT), () => gateway.dismiss(id)] as const,
        restore: [restoration(id), () => gateway.restore(id)] as const,
        answer: [
          answering(id, { plan: { decision: 'APPROVE' } }, 'a', AT),
          () => gateway.settle(id, 'ANSWERED'),
        ] as const,
      }[act];
      if (who === 'other') execute();
      else client.change(id, change, who === 'user' ? execute : () => undefined);
    }),
  fc.constant<Step>((client) => void client.dismissAll()),
  filters.map((filter) => (client: ModelClient) => client.load(filter, 3)),
  filters.map((filter) => (client: ModelClient) => client.loadMore(filter)),
  fc.constant<Step>((client) => client.loadCounts()),
  fc.constant<Step>((client) => client.forget()),
  ...progress,
);

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 100, arbitrary: commonSteps },
  { weight: 1, arbitrary: fc.constant<Step>((client) => client.loseEvents()) },
);

/** Lets everything that is ready happen. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function expectOrder(state: State): void {
  for (const filter of FILTERS) {
    const keys = select(state, filter)?.map(({ createdAt, id }) => `${createdAt} ${id}`) ?? [];
    expect(keys).toEqual([...new Set(keys)].sort().reverse());
  }
}

function expectGatewayState({ gateway, store: { shown } }: ModelClient): void {
  for (const filter of FILTERS) {
    const list = select(shown, filter);
    if (list === undefined) continue;
    const { end } = shown.notifications.lists.get(filterKey(filter)) ?? {};
    const expected = gateway
      .list(filter)
      .filter(
        ({ createdAt, id }) => end === undefined || `${createdAt} ${id}` >= `${end.createdAt} ${end.id}`,
      );
    expect(list).toEqual(expected);
  }
  if (shown.counts !== undefined) expect(shown.counts.value).toMatchObject(gateway.counts());
}

test('any interleaving of events, replies, refusals and lost events ends in the state of the gateway', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(steps, { minLength: 30, maxLength: 100 }),
      fc.boolean(),
      async (run, eventsFirst) => {
        const client = new ModelClient();
        for (const step of run) {
          step(client);
          await settle();
          expectOrder(client.store.shown);
        }
        await client.finish(eventsFirst);
        expectGatewayState(client);
      },
    ),
    { numRuns: 100, endOnFailure: true },
  );
});

test('the shown count of a user who only dismisses never rises, whatever arrives in which order', async () => {
  const dismissing: fc.Arbitrary<Step> = fc.oneof(
    fc.nat(20).map((place) => (client: ModelClient) => {
      const { gateway } = client;
      const id = gateway.cards[place % gateway.cards.length]?.id ?? '';
      client.change(id, dismissal(id, AT), () => gateway.dismiss(id));
    }),
    ...progress,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(dismissing, { minLength: 10, maxLength: 60 }), async (run) => {
      const client = new ModelClient();
      for (let published = 0; published < 5; published += 1) client.gateway.publish('TASK_FAILED', 'one');
      client.gateway.events = [];
      client.load({}, 10);
      client.loadCounts();
      await client.finish(true);
      let last = client.gateway.counts().total;
      const expectNoRise = () => {
        const total = client.store.shown.counts?.value.total ?? Number.NaN;
        expect(total).toBeLessThanOrEqual(last);
        last = total;
      };
      for (const step of run) {
        step(client);
        await settle();
        expectNoRise();
      }
      await client.finish(false);
      expectNoRise();
      expectGatewayState(client);
    }),
    { numRuns: 100, endOnFailure: true },
  );
});
