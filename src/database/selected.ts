/** A row with the `Always` properties, and those of the others that were selected. */
export type Selected<Row, Always extends keyof Row> = Pick<Row, Always> & Partial<Omit<Row, Always>>;
