/** The text of an operation, with the types of its result and its variables. */
export class TypedDocument<Data, Variables> {
  /** The text, with all fragments. */
  readonly text: string;
  /** Only for type inference; never set. */
  declare readonly types?: (variables: Variables) => Data;

  constructor(text: string) {
    this.text = text;
  }
}
