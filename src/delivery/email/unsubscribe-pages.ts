import { renderTextPage } from '../../pages/text-page.ts';
import { kindNames } from './kind-names.ts';
import type { EmailTopic } from './unsubscribe-token.ts';

/** Renders the page that asks for confirmation. The form posts to the address of the page. */
export function renderQuestion({ kind }: EmailTopic): string {
  return renderTextPage(
    'Unsubscribe',
    `<h1>Stop email about ${kindNames[kind]}?</h1>
    <p>Your inbox, other kinds of email and other channels do not change.</p>
    <form method="post"><button>Stop this email</button></form>`,
  );
}

/** Renders the page that confirms the change. */
export function renderConfirmation({ kind }: EmailTopic): string {
  return renderTextPage(
    'Unsubscribed',
    `<h1>Email about ${kindNames[kind]} is off</h1>
    <p>You can turn it on again in your notification preferences.</p>`,
  );
}

/** The page of an invalid link. */
export const invalidLinkPage = renderTextPage(
  'Not found',
  `<h1>This link is not valid</h1>
    <p>It may be incomplete, or the account no longer exists.</p>`,
);
