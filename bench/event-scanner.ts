/** How the ID of a measured notification begins in an event; its number and a quotation mark follow. */
const START = '"id":"event-';

/** The longest beginning of an ID with its number. */
const LONGEST = START.length + 16;

/**
 * Finds the numbers of the notifications in the events of a stream, in whatever pieces its text comes. It looks for
 * nothing else: parsing every event would cost more than to make it.
 */
export function createEventScanner(take: (number: number) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const all = rest + text;
    let from = 0;
    for (let at = all.indexOf(START); at !== -1; at = all.indexOf(START, from)) {
      const end = all.indexOf('"', at + START.length);
      if (end === -1) break;
      take(Number(all.slice(at + START.length, end)));
      from = end;
    }
    rest = all.slice(Math.max(from, all.length - LONGEST));
  };
}
