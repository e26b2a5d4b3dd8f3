import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** An example operation for the records of `npm run seed -- --user alice`. */
export type Example = {
  /** The heading in GraphiQL's menu. */
  group: string;
  /** The file name without extension. */
  name: string;
  /** The entry in GraphiQL's menu: the first line of the file, which is a comment. */
  title: string;
  query: string;
  /** JSON; empty if the operation has no variables. */
  variables: string;
};

/** The headings by folder of `examples/`, in the order of the menu. */
const groups = { 'web-app': 'Web app', platform: 'Platform services', dashboard: 'Dashboards' };

/** Reads `examples/`: one `.graphql` file per example, and a `.json` file of the same name for its variables. */
export function readExamples(): Example[] {
  return Object.entries(groups).flatMap(([folder, group]) => {
    const directory = new URL(`../../examples/${folder}/`, import.meta.url);
    const names = readdirSync(directory).filter((file) => file.endsWith('.graphql'));
    return names.sort().map((file): Example => {
      const name = file.slice(0, -'.graphql'.length);
      const variables = new URL(`${name}.json`, directory);
      const query = readFileSync(new URL(file, directory), 'utf8');
      const [title = ''] = query.split('\n');
      return {
        group,
        name,
        title: title.replace(/^# /, ''),
        query,
        variables: existsSync(variables) ? readFileSync(variables, 'utf8') : '',
      };
    });
  });
}
