import { lexer, type MarkedToken, type Token } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { PlainText } from './plain-text.tsx';

/** Deeper parts are shown as they were written. */
const MAX_DEPTH = 20;

/** A link may lead there. */
const PROTOCOLS = ['http:', 'https:', 'mailto:'];

/**
 * Shows Markdown of a task. Users approve it, so nothing is hidden: HTML, images, comments and definitions are shown as they
 * were written, and links with their host. Every element is made here, so the text cannot add any other.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = parse(text);
  return tokens === undefined ? (
    <PlainText text={text} />
  ) : (
    <div className="wa-markdown" dir="auto">
      {showAll(tokens, 0)}
    </div>
  );
}

/** Returns undefined if the text nests too deep for the parser. */
function parse(text: string): Token[] | undefined {
  try {
    return lexer(text);
  } catch {
    return undefined;
  }
}

const TYPES: readonly string[] = [
  'blockquote',
  'br',
  'checkbox',
  'code',
  'codespan',
  'del',
  'em',
  'escape',
  'heading',
  'hr',
  'link',
  'list',
  'list_item',
  'paragraph',
  'space',
  'strong',
  'table',
  'text',
] satisfies MarkedToken['type'][];

const isShown = (token: Token): token is MarkedToken => TYPES.includes(token.type);

const showAll = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  tokens?.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text never changes.
    <Fragment key={index}>{show(token, depth + 1)}</Fragment>
  ));

function show(token: Token, depth: number): ReactNode {
  if (!isShown(token) || depth > MAX_DEPTH) return <span className="wa-text">{token.raw}</span>;
  switch (token.type) {
    case 'blockquote':
      return <blockquote>{showAll(token.tokens, depth)}</blockquote>;
    case 'br':
      return <br />;
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'code':
      return (
        <pre>
          {token.lang && <span className="wa-label">{token.lang}</span>}
          <code>{token.text}</code>
        </pre>
      );
    case 'codespan':
      return <code>{token.text}</code>;
    case 'del':
      return <del>{showAll(token.tokens, depth)}</del>;
    case 'em':
      return <em>{showAll(token.tokens, depth)}</em>;
    case 'heading':
      return (
        <p className="wa-markdown-heading" data-depth={token.depth}>
          {showAll(token.tokens, depth)}
        </p>
      );
    case 'hr':
      return <hr />;
    case 'link':
      return <Link {...token}>{showAll(token.tokens, depth)}</Link>;
    case 'list': {
      const items = token.items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text never changes.
        <li key={index}>{showAll(item.tokens, depth)}</li>
      ));
      return token.ordered ? <ol start={Number(token.start)}>{items}</ol> : <ul>{items}</ul>;
    }
    case 'paragraph':
      return <p>{showAll(token.tokens, depth)}</p>;
    case 'strong':
      return <strong>{showAll(token.tokens, depth)}</strong>;
    case 'table':
      return (
        <table>
          <thead>
            <tr>{token.header.map(({ tokens }, index) => showCell('th', index, tokens, depth))}</tr>
          </thead>
          <tbody>
            {token.rows.map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text never changes.
              <tr key={index}>{row.map(({ tokens }, column) => showCell('td', column, tokens, depth))}</tr>
            ))}
          </tbody>
        </table>
      );
    case 'text':
      return 'tokens' in token && token.tokens ? showAll(token.tokens, depth) : token.text;
    case 'escape':
      return token.text;
    default:
      return null;
  }
}

const showCell = (Cell: 'td' | 'th', key: number, tokens: readonly Token[], depth: number) => (
  <Cell key={key}>{showAll(tokens, depth)}</Cell>
);

type LinkProps = { href: string; text: string; title?: string | null; raw: string; children: ReactNode };

/** A link that says where it leads; what is no address of the web is shown as it was written. */
function Link({ href, text, title, raw, children }: LinkProps) {
  const url = URL.parse(href);
  if (url === null || !PROTOCOLS.includes(url.protocol)) return raw;
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
      {(text !== href || title) && (
        <span className="wa-host"> ({[url.host || url.pathname, ...(title ? [title] : [])].join(', ')})</span>
      )}
    </>
  );
}
