import { useState } from 'react';
import { Button } from './controls.tsx';

const MAX_LINES = 8;
const MAX_CHARACTERS = 700;

/** Shows a text with its line breaks, under a line that sums it up. A long one is cut until the user expands it. */
export function LongText({ lead, text }: { lead?: string | null; text: string | null }) {
  const [isExpanded, setIsExpanded] = useState(false);
  const isLong = text !== null && (text.length > MAX_CHARACTERS || text.split('\n').length > MAX_LINES);
  return (
    <>
      {lead && <p className="lead">{lead}</p>}
      {text && <p className={isLong && !isExpanded ? 'text cut' : 'text'}>{text}</p>}
      {isLong && (
        <Button className="quiet" aria-expanded={isExpanded} onClick={() => setIsExpanded(!isExpanded)}>
          {isExpanded ? 'Show less' : 'Show all'}
        </Button>
      )}
    </>
  );
}
