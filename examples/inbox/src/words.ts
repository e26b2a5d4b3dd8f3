import { type Dictionary, de, en } from '@workspace-account/react';

const isGerman = navigator.language.startsWith('de');

/** The language of the browser, if it is German; otherwise English. */
export const locale = isGerman ? 'de' : 'en';

/** The texts of the components. */
export const texts: Dictionary = isGerman ? de : en;

/** Returns the words of this page in the language of the browser. */
export const say = (english: string, german: string) => (isGerman ? german : english);
