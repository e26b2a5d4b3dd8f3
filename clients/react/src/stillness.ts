/** How long an element must be visible and still before it takes an answer, in milliseconds. */
const STILL_MS = 600;

/** What one frame counts at most, in milliseconds: during a longer gap, nobody saw the element. */
const MAX_FRAME_MS = 100;

type Watch = {
  /** The notification that the element shows. */
  readonly id: string;
  readonly listener: () => void;
  /** Where the element was at the last frame; undefined if it was not visible. */
  place: string | undefined;
  stillMs: number;
};

const watches = new Map<Element, Watch>();
let lastUpdate = 0;
let frame = 0;

/**
 * Watches an element, frame by frame, while it shows a notification, and calls the listener when {@link wasStill} changes.
 * Returns a function that ends this. Layout changes for too many reasons to observe each of them.
 */
export function watchStillness(element: Element, id: string, listener: () => void): () => void {
  const watch: Watch = { id, listener, place: undefined, stillMs: 0 };
  if (watches.size === 0) {
    document.addEventListener('visibilitychange', update);
    frame = requestAnimationFrame(updateEachFrame);
  }
  watches.set(element, watch);
  return () => {
    if (watches.get(element) === watch) watches.delete(element);
    if (watches.size > 0) return;
    document.removeEventListener('visibilitychange', update);
    cancelAnimationFrame(frame);
  };
}

/** Whether an element was visible and still for long enough at the last frame, with the same notification. */
export function wasStill(element: Element, id: string): boolean {
  const watch = watches.get(element);
  return watch?.id === id && watch.stillMs >= STILL_MS;
}

/** Whether that is so now, if it has moved since the last frame. */
export function isStillNow(element: Element, id: string): boolean {
  update();
  return wasStill(element, id);
}

function updateEachFrame(): void {
  update();
  frame = requestAnimationFrame(updateEachFrame);
}

function update(): void {
  const now = performance.now();
  const passed = Math.min(now - lastUpdate, MAX_FRAME_MS);
  lastUpdate = now;
  const changed = [...watches].filter(([element, watch]) => {
    const was = watch.stillMs >= STILL_MS;
    const place = findPlace(element);
    watch.stillMs = place !== undefined && place === watch.place ? watch.stillMs + passed : 0;
    watch.place = place;
    return watch.stillMs >= STILL_MS !== was;
  });
  for (const [, { listener }] of changed) listener();
}

/** Returns where the window shows an element; `undefined` if it does not. */
function findPlace(element: Element): string | undefined {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const isVisible =
    document.visibilityState === 'visible' &&
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    Math.min(right, innerWidth) > Math.max(left, 0) &&
    Math.min(bottom, innerHeight) > Math.max(top, 0);
  return isVisible ? [left, top, right, bottom].join() : undefined;
}
