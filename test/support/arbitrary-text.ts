import fc from 'fast-check';

/** A character of any code point except surrogates. Unlike the unit `binary`, it does not take a second to create. */
export const arbitraryCharacter = fc
  .nat({ max: 0x10ffff })
  .map((code) => String.fromCodePoint(code))
  .filter((character) => character.isWellFormed());
