/** A row of which only some properties are selected. */
export type Selected<Row, Always extends keyof Row> = Pick<Row, Always> & Partial<Omit<Row, Always>>;
