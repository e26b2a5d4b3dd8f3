import { useDeliveries } from '@workspace-account/react';
import { useState } from 'react';
import { Loaded } from './loaded.tsx';
import { toWords } from './texts.ts';
import { Time } from './time.tsx';

/** Shows which messages were sent about a notification. Loads them when the user asks. */
export function Deliveries({ id }: { id: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const { deliveries, ...loading } = useDeliveries(isOpen ? id : undefined);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Messages sent</summary>
      <Loaded of={loading} isMissing={false}>
        {deliveries?.length === 0 && <p>None.</p>}
        {deliveries?.map(({ ref, channel, state, reason, deliveredAt }) => (
          <p key={ref}>
            <strong>{toWords(channel.replace('_DM', ''))}</strong> {toWords(state).toLowerCase()}
            {reason && `: ${toWords(reason).toLowerCase()}`} {deliveredAt && <Time at={deliveredAt} />}
          </p>
        ))}
      </Loaded>
    </details>
  );
}
