import { Counter, type Registry } from 'prom-client';

/**
 * Registers the counter of rate limit charges that are counted in memory because Redis is unreachable. Returns a
 * function that counts one.
 */
export function createFallbackCounter(registry: Registry): () => void {
  const fallbacks = new Counter({
    name: 'gateway_rate_limit_fallbacks_total',
    help: 'Rate limit charges counted in memory because Redis was unreachable.',
    registers: [registry],
  });
  return () => fallbacks.inc();
}
