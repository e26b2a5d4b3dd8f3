import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** One operation to try, with its comment; it works on the records of `npm run seed -- --user alice`. */
export type Example = {
  /** Whose example it is, as GraphiQL's menu says it. */
  group: string;
  /** The file's name without its ending. */
  name: string;
  query: string;
  /** JSON text, empty where the operation takes none. */
  variables: string;
};

/** The folders of `examples/` in the order of the menu, and what it calls them. */
const groups = { 'web-app': 'Web app', platform: 'Platform services', dashboard: 'Dashboards' };

/** Reads `examples/`: a `.graphql` file each, and a `.json` file of the same name where it takes variables. */
export function readExamples(): Example[] {
  return Object.entries(groups).flatMap(([folder, group]) => {
    const place = new URL(`../../examples/${folder}/`, import.meta.url);
    const names = readdirSync(place).filter((file) => file.endsWith('.graphql'));
    return names.sort().map((file): Example => {
      const name = file.slice(0, -'.graphql'.length);
      const variables = new URL(`${name}.json`, place);
      return {
        group,
        name,
        query: readFileSync(new URL(file, place), 'utf8'),
        variables: existsSync(variables) ? readFileSync(variables, 'utf8') : '',
      };
    });
  });
}
