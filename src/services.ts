import { Registry } from 'prom-client';
import { createAuthenticate, createTokenVerifier } from './auth/authenticate.ts';
import { openKeySet } from './auth/key-set.ts';
import { readEncryptionKeys } from './config/development-keys.ts';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { createAnswerEndpoint } from './delivery/answers/answer-endpoint.ts';
import { createAnswerLinks } from './delivery/answers/answer-link.ts';
import { createSlackInteractions } from './delivery/answers/slack-interactions.ts';
import { readBacklog } from './delivery/deliveries.ts';
import { deliveryFailureReasons } from './delivery/delivery.enums.ts';
import { createUnsubscribeEndpoint } from './delivery/email/unsubscribe.ts';
import { createUnsubscribeTokens } from './delivery/email/unsubscribe-token.ts';
import { createOutbox } from './delivery/outbox.ts';
import { createProviders } from './delivery/providers.ts';
import { createPushRegistration } from './delivery/push-subscriptions.ts';
import { type Sender, startSender } from './delivery/sender.ts';
import { bindChannels } from './delivery/targets.ts';
import { createCredentialCipher } from './encryption/bound-cipher.ts';
import { createBodyReader } from './http/read-body.ts';
import { type Change, createHub } from './live/hub.ts';
import { startLiveEvents } from './live/live-events.ts';
import type { Log } from './log.ts';
import { createBacklogMetrics, createDeliveryMetrics } from './metrics/delivery-metrics.ts';
import { createEventDelay, createFallbackCounter } from './metrics/process-metrics.ts';
import {
  createBackgroundMetrics,
  createStateMetrics,
  createStatisticsMetrics,
} from './metrics/state-metrics.ts';
import { countOpenRequests } from './notifications/answers/count-open-requests.ts';
import { createPageKey } from './pages/graphiql-token.ts';
import { readFeedLag, startPositioning } from './platform-feed/positions.ts';
import { createLimiters, openRedis } from './quota/limiters.ts';
import { createQuota } from './quota/quota.ts';
import { ReadScheduler } from './quota/read-scheduler.ts';
import { RunningDocuments } from './quota/running-documents.ts';
import type { Repeating } from './repeat.ts';
import { createServedSchemas } from './schema.ts';
import { readGauges } from './statistics/statistics.ts';

/** Everything that a gateway runs with. Created once for each process. */
export type Services = Awaited<ReturnType<typeof createServices>>;

/** Creates the services of a gateway. The caller closes them and the database. */
export async function createServices(config: Config, database: Database, log: Log) {
  const metrics = new Registry();
  const keys = await readEncryptionKeys(config);
  const keySet = await openKeySet(config, log);
  const tokens = createTokenVerifier({ ...config, keySet });
  const cipher = createCredentialCipher(keys);
  const delivery = createDelivery(config, metrics, log);
  const { outbox } = delivery;
  const onChange = (change: Change) => {
    delivery.onChange(change);
    if (change.hasEvents) positioning.notice();
  };
  const { hub, live } = startLive(config, database, metrics, onChange, log);
  const positioning = startPositioning({
    database,
    announce: live.announce,
    log,
    sweepMs: config.liveSweepMs,
  });
  const redis = config.redisUrl === null ? undefined : await openRedis(config.redisUrl);
  const limiters = createLimiters(config.limits, redis, createFallbackCounter(metrics));
  const quota = createQuota(config.limits, limiters);
  createBackgroundMetrics(metrics, async () => ({
    requests: await countOpenRequests(database.fork()),
    feedLag: await readFeedLag(database.fork()),
  }));
  createStatisticsMetrics(metrics, () => readGauges(database.fork(), cipher));
  createStateMetrics(metrics, {
    liveSubscribers: () => hub.size,
    maxLiveSubscribers: () => config.maxSubscribers,
    isListening: () => live.problem === undefined,
    pools: database.pools,
    cachedTokens: () => tokens.size,
    keySetAge: () => keySet.age?.(),
    maxKeySetAge: () => (keySet.age ? config.keySetMaxStaleSeconds : undefined),
    isRedisUp: redis && (() => redis.status === 'ready'),
  });
  /** What the context of every request contains. */
  const shared = {
    database,
    cipher,
    hub,
    announce: live.announce,
    outbox,
    push: createPushRegistration(config.delivery.push, keys),
    quota,
    readBody: createBodyReader(),
    readScheduler: new ReadScheduler(),
    runningDocuments: new RunningDocuments(),
  };
  const { chat } = config.delivery;
  return {
    config,
    database,
    log,
    metrics,
    schemas: createServedSchemas(quota),
    keySet,
    /** Undefined if GraphiQL cannot get a token. */
    pageKey: createPageKey(config),
    authenticate: createAuthenticate(tokens),
    hub,
    live,
    delivery,
    /** Undefined if Redis is not configured. */
    redis,
    unsubscribe: createUnsubscribeEndpoint({ tokens: createUnsubscribeTokens(keys), database, outbox }),
    answers: createAnswerEndpoint(createAnswerLinks(config, keys), shared, config),
    slackInteractions: chat?.signingSecret && createSlackInteractions(chat, chat.signingSecret, shared),
    shared,
    /** Closes what was opened, except the database. */
    async close(): Promise<void> {
      await positioning.stop();
      await live.close();
      redis?.disconnect();
    },
  };
}

/** The live events of a process, and the hub that they reach. */
export function startLive(
  config: Config,
  database: Database,
  metrics: Registry,
  onChange: (change: Change) => void,
  log: Log,
) {
  const hub = createHub(config.maxSubscribers, { observeDelay: createEventDelay(metrics), onChange });
  const timing = { timeoutMs: config.databaseTimeoutMs, sweepMs: config.liveSweepMs };
  return { hub, live: startLiveEvents(database, hub, timing, log) };
}

/** Creates the configured delivery. It sends nothing until it is started. */
export function createDelivery(config: Config, registry: Registry, log: Log) {
  const outbox = createOutbox(config.delivery);
  let sender: Sender | undefined;
  let ending: Repeating | undefined;
  return {
    outbox,
    /** Wakes the sender after a change of notifications. The hub calls it with every change. */
    onChange({ topic }: Change): void {
      if (topic === 'notifications') sender?.wake();
    },
    /**
     * Starts to make deliveries follow changes, and to send over the configured channels. Returns false if there are none,
     * or this process does not send.
     */
    async start(database: Database): Promise<boolean> {
      const { channels } = outbox;
      if (channels.size === 0) return false;
      createBacklogMetrics(registry, channels, () => readBacklog(database.fork()));
      ending = outbox.start(database, log);
      const { publicUrl, delivery } = config;
      if (!delivery.sends) return false;
      const keys = await readEncryptionKeys(config);
      const links = createAnswerLinks(config, keys);
      const bound = await bindChannels(delivery, { keys, publicUrl, links, log });
      sender = startSender({
        database,
        outbox,
        channels: bound,
        providers: createProviders(),
        appUrl: delivery.appUrl,
        metrics: createDeliveryMetrics(registry, channels, ['delivered', ...deliveryFailureReasons]),
        log,
      });
      return true;
    },
    /** Stops sending, like {@link Sender.stop}. */
    async stop(graceMs: number): Promise<void> {
      await Promise.all([sender?.stop(graceMs), ending?.stop()]);
    },
  };
}
