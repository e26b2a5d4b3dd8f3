/** The texts of the answer page, in English and German. */
const table = {
  language: 'en | de',
  asks: 'A task needs your answer. | Eine Aufgabe braucht Ihre Antwort.',
  task: 'Task | Aufgabe',
  project: 'Project | Projekt',
  until: 'Answer until | Antwort bis',
  without: 'Without an answer | Ohne Antwort',
  expires: 'The request expires. Nothing is decided. | Die Anfrage läuft ab. Nichts wird entschieden.',
  waits: 'The task goes on waiting. | Die Aufgabe wartet weiter.',
  input: 'Everything as the task sent it | Alles, wie die Aufgabe es gesendet hat',
  decision: 'Your decision | Ihre Entscheidung',
  approve: 'Approve | Genehmigen',
  request_changes: 'Request changes | Änderungen verlangen',
  reject: 'Reject | Ablehnen',
  feedback: 'What the task should consider (optional) | Was die Aufgabe beachten soll (freiwillig)',
  one: 'Choose one. | Wählen Sie eine aus.',
  some: 'Choose one or more. | Wählen Sie eine oder mehrere aus.',
  other: 'Another answer | Eine andere Antwort',
  text: 'Your own answer | Ihre eigene Antwort',
  reply: 'Your reply | Ihre Antwort',
  answer: 'Answer | Antworten',
  review: 'Review | Prüfen',
  changes: 'What should the task change? | Was soll die Aufgabe ändern?',
  close: 'Close | Schließen',
  send: 'Send answer | Antwort senden',
  open: 'Open in the app | In der App öffnen',
  anybody:
    'Anyone who has the link to this page can answer. Do not pass it on. | Wer den Link zu dieser Seite hat, kann antworten. Geben Sie ihn nicht weiter.',
  incomplete: 'The answer is incomplete | Die Antwort ist unvollständig',
  incomplete_text:
    'Nothing is stored yet. Choose as described, or write your own answer; if only one choice is allowed, not both. A text has at most 10,000 characters. | Es ist noch nichts gespeichert. Wählen Sie wie beschrieben aus oder schreiben Sie eine eigene Antwort; wenn nur eine Wahl erlaubt ist, nicht beides. Ein Text hat höchstens 10.000 Zeichen.',
  marked: 'Please complete: | Bitte ergänzen:',
  stored: 'Your answer is stored | Ihre Antwort ist gespeichert',
  settled: 'This was settled before | Das war schon erledigt',
  unstored: 'What you sent was not stored. | Was Sie gesendet haben, wurde nicht gespeichert.',
  state_open: 'Waits for an answer | Wartet auf eine Antwort',
  state_answered: 'Answered | Beantwortet',
  state_expired: 'Expired without an answer | Ohne Antwort abgelaufen',
  state_withdrawn: 'Withdrawn: the task needs no answer | Zurückgezogen: Die Aufgabe braucht keine Antwort',
  undecided: 'Nobody approved or refused anything. | Niemand hat etwas genehmigt oder abgelehnt.',
  given: 'Given | Gegeben',
  at: 'Time | Zeitpunkt',
  via_graphql: 'in an app | in einer App',
  via_rest: 'over the REST API | über die REST-API',
  via_email: 'by link in a mail | über den Link in einer E-Mail',
  via_chat: 'in the chat | im Chat',
  via_default: 'automatically, when the time is up | automatisch nach Ablauf der Frist',
  invalid: 'This link is not valid | Dieser Link ist nicht gültig',
  invalid_text:
    'The request or your contact has changed, or the link is incomplete or too old. You can still answer in the app. | Die Anfrage oder Ihre Adresse hat sich geändert, oder der Link ist unvollständig oder zu alt. In der App können Sie weiterhin antworten.',
  unreadable: 'The answer could not be read | Die Antwort war nicht lesbar',
  unreadable_text:
    'It was not stored. Open the link in the mail again, and send a shorter answer from that page. | Sie wurde nicht gespeichert. Öffnen Sie den Link in der E-Mail noch einmal und senden Sie von dort eine kürzere Antwort.',
  busy: 'Too many requests | Zu viele Anfragen',
  busy_text:
    'Nothing was stored. Try again in a minute. | Es wurde nichts gespeichert. Versuchen Sie es in einer Minute noch einmal.',
  failed: 'The service does not respond | Der Dienst antwortet nicht',
  failed_text:
    'Please try again. Your answer counts only once. | Versuchen Sie es noch einmal. Ihre Antwort zählt nur einmal.',
} as const;

/** Returns texts in one language. */
export type Texts = (name: keyof typeof table) => string;

/** The languages of the page. The first is for readers of others. */
export const languages = table.language.split(' | ');

/** Returns the texts in a language. */
export function textsIn(language: string): Texts {
  const column = Math.max(0, languages.indexOf(language));
  return (name) => table[name].split(' | ')[column] ?? '';
}
