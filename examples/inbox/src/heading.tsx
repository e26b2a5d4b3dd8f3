import type { ReactNode } from 'react';

const focus = (heading: HTMLElement | null) => heading?.focus();

/** The heading of a screen. It names the page, and gets the focus when the screen is opened. */
export function Heading({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="screen-head">
      <title>{title}</title>
      <h1 ref={focus} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}
