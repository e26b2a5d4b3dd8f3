import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** An operation to try, with its comment. It uses the records of `npm run seed -- --user alice`. */
export type Example = {
  /** The kind of caller, as GraphiQL's menu names it. */
  group: string;
  /** The file's name without its extension. */
  name: string;
  query: string;
  /** JSON, empty if the operation takes no variables. */
  variables: string;
};

/** The folders of `examples/` in the order of the menu, with its labels. */
const groups = { 'web-app': 'Web app', platform: 'Platform services', dashboard: 'Dashboards' };

/** Reads `examples/`: a `.graphql` file each, and a `.json` file of the same name if it takes variables. */
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
