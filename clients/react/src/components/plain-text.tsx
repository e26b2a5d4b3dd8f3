/** Shows a text with its line breaks. */
export const PlainText = ({ text }: { text: string }) => (
  <p className="wa-text" dir="auto">
    {text}
  </p>
);
