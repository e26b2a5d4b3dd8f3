/** One instruction of a Dockerfile, limited to the forms that ours uses. */
export type Instruction =
  | { name: 'RUN' | 'WORKDIR' | 'USER' | 'EXPOSE'; text: string }
  | { name: 'ENV'; variables: Record<string, string> }
  | { name: 'COPY'; from: string | undefined; sources: string[]; target: string }
  | { name: 'HEALTHCHECK' | 'CMD'; command: string[] };

/** The instructions from one FROM to the next. */
export type Stage = { base: string; name: string | undefined; instructions: Instruction[] };

/**
 * Parses a Dockerfile.
 * @throws {Error} for an unsupported instruction or form
 */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  for (const line of logicalLines(text)) {
    const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (word === 'FROM') {
      const [, base = '', name] = matched(/^(\S+)(?: AS (\S+))?$/, rest, line);
      stages.push({ base, name, instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (stage === undefined) throw new Error(`Instruction before the first FROM: ${line}`);
    stage.instructions.push(parseInstruction(word, rest, line));
  }
  return stages;
}

/** Returns the names that a .dockerignore includes after excluding everything with `*`. */
export function readDockerignore(text: string): string[] {
  const [all, ...kept] = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (all !== '*') throw new Error('The first line of .dockerignore must be "*".');
  return kept.map((line) => matched(/^!([^*!]+)$/, line, line)[1] ?? '');
}

function parseInstruction(word: string, rest: string, line: string): Instruction {
  switch (word) {
    case 'RUN':
    case 'WORKDIR':
    case 'USER':
    case 'EXPOSE':
      return { name: word, text: rest };
    case 'ENV':
      return {
        name: word,
        variables: Object.fromEntries(
          rest.split(/\s+/).map((pair) => matched(/^(\w+)=([^"'$]+)$/, pair, line).slice(1)),
        ),
      };
    case 'COPY': {
      const [, from, paths = ''] = matched(/^(?:--from=(\S+) )?([^-].*)$/, rest, line);
      const sources = paths.split(/\s+/);
      const target = sources.pop() ?? '';
      return { name: word, from, sources, target };
    }
    case 'HEALTHCHECK':
      return {
        name: word,
        command: execForm(matched(/^(?:--[\w-]+=\S+\s+)*CMD (.*)$/, rest, line)[1], line),
      };
    case 'CMD':
      return { name: word, command: execForm(rest, line) };
    default:
      throw new Error(`Unsupported instruction: ${line}`);
  }
}

/** Parses the exec form, which starts no shell, so that signals reach the program. */
function execForm(text: string | undefined, line: string): string[] {
  const command: unknown = JSON.parse(text ?? '');
  if (!Array.isArray(command)) throw new Error(`Not in the exec form: ${line}`);
  return command.map(String);
}

function logicalLines(text: string): string[] {
  return text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function matched(pattern: RegExp, text: string, line: string): (string | undefined)[] {
  const match = pattern.exec(text);
  if (match === null) throw new Error(`Unsupported instruction: ${line}`);
  return [...match];
}
