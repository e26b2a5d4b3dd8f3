import MarkdownIt from 'markdown-it';
import { showHidden } from '../values/text.ts';
import { Html, html } from './html.ts';

/** Longer texts are shown as they are: some take the parser a time that grows with the square of their length. */
const MAX_CHARACTERS = 20_000;

/**
 * Renders Markdown (CommonMark, with tables) of somebody who is not trusted. Markup in it is shown as text, images become links,
 * and each link is followed by its host. Without `hasLinks`, links are shown as text.
 */
export function renderMarkdown(text: string, hasLinks: boolean): Html {
  if (text.length > MAX_CHARACTERS) return html`<pre>${text}</pre>`;
  return new Html((hasLinks ? withLinks : withoutLinks).render(showHidden(text)));
}

/** Without the option `html`, all text is escaped. Deep nesting ends at a limit. */
function createRenderer(isLink: (url: string) => boolean) {
  const markdown = new MarkdownIt('default', { html: false }).disable('image');
  const { renderer } = markdown;
  markdown.validateLink = isLink;
  // The others are styles and titles.
  renderer.renderAttrs = ({ attrs }) => {
    const [, start] = attrs?.find(([name]) => name === 'start') ?? [];
    return start === undefined ? '' : ` start="${Number(start)}"`;
  };
  // An empty address is not checked: it stays text.
  renderer.rules.link_open = (tokens, index) => {
    const href = String(tokens[index]?.attrGet('href'));
    return isLink(href) ? html`<a href="${href}" rel="noreferrer nofollow">`.text : '[';
  };
  renderer.rules.link_close = (tokens, index) => {
    const href = String(
      tokens
        .slice(0, index)
        .findLast(({ type }) => type === 'link_open')
        ?.attrGet('href'),
    );
    const url = URL.parse(href);
    return isLink(href) ? html`</a> (${url?.host || url?.pathname})`.text : ']()';
  };
  return markdown;
}

const withLinks = createRenderer((url) => /^(https?:\/\/|mailto:)/i.test(url));
const withoutLinks = createRenderer(() => false);
