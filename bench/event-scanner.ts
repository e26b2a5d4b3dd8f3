/** The ID of a measured notification without its number and the closing quotation mark. */
const START = '"id":"event-';

/** Maximum length of an incomplete ID. */
const MAX_PARTIAL = START.length + 16;

/**
 * Creates a function that receives a stream in chunks and passes the number of each notification to `onNumber`. Does
 * not parse events, which would take longer than creating them.
 */
export function createEventScanner(onNumber: (number: number) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const all = rest + text;
    let from = 0;
    for (let at = all.indexOf(START); at !== -1; at = all.indexOf(START, from)) {
      const end = all.indexOf('"', at + START.length);
      if (end === -1) break;
      onNumber(Number(all.slice(at + START.length, end)));
      from = end;
    }
    rest = all.slice(Math.max(from, all.length - MAX_PARTIAL));
  };
}
