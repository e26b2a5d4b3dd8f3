import { useVirtualizer, useWindowVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';

/** The height of a card before it is measured, in pixels. */
const CARD_HEIGHT = 200;

type Props = { ids: readonly string[]; show(index: number): ReactNode };

/** Shows the cards of a long list that are near the window, or near what the element around the list shows. */
export function VirtualCards(props: Props) {
  const [place, setPlace] = useState<{ scroller: HTMLElement | undefined; top: number }>();
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const scroller = findScroller(list.current);
    const top = list.current?.getBoundingClientRect().top ?? 0;
    const origin =
      scroller === undefined ? -scrollY : scroller.getBoundingClientRect().top - scroller.scrollTop;
    setPlace({ scroller, top: top - origin });
  }, []);
  return (
    <div ref={list}>
      {place?.scroller && <InElement {...props} scroller={place.scroller} top={place.top} />}
      {place && !place.scroller && <InWindow {...props} top={place.top} />}
    </div>
  );
}

/** Returns the element that scrolls an element; undefined if the window does. */
function findScroller(element: HTMLElement | null): HTMLElement | undefined {
  for (let outer = element?.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(outer).overflowY)) return outer;
  }
  return undefined;
}

type PlacedProps = Props & { top: number };

const optionsOf = ({ ids, top }: PlacedProps, scrolled: number) => ({
  count: ids.length,
  estimateSize: () => CARD_HEIGHT,
  getItemKey: (index: number) => ids[index] ?? index,
  scrollMargin: top,
  overscan: 4,
  // What arrives above does not move what the user reads, unless that is the top of the list.
  anchorTo: scrolled > top ? ('end' as const) : ('start' as const),
});

function InWindow(props: PlacedProps) {
  const virtualizer = useWindowVirtualizer<HTMLDivElement>(optionsOf(props, scrollY));
  return <Cards {...props} virtualizer={virtualizer} />;
}

function InElement({ scroller, ...props }: PlacedProps & { scroller: HTMLElement }) {
  const virtualizer = useVirtualizer<HTMLElement, HTMLDivElement>({
    ...optionsOf(props, scroller.scrollTop),
    getScrollElement: () => scroller,
  });
  return <Cards {...props} virtualizer={virtualizer} />;
}

type CardsProps<Scroller extends Element | Window> = PlacedProps & {
  virtualizer: Virtualizer<Scroller, HTMLDivElement>;
};

function Cards<Scroller extends Element | Window>({ show, top, virtualizer }: CardsProps<Scroller>) {
  return (
    <div className="wa-virtual" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map(({ index, key, start }) => (
        <div
          key={key}
          ref={virtualizer.measureElement}
          data-index={index}
          className="wa-virtual-card"
          style={{ transform: `translateY(${start - top}px)` }}
        >
          {show(index)}
        </div>
      ))}
    </div>
  );
}
