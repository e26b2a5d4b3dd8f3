import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { printLine, runCommand } from '../src/commands/run-command.ts';
import { OperatorError } from '../src/errors/failure.ts';

// Pins the images of the Dockerfile and compose.yaml to the digests that their tags have now.

const REFERENCE = /^(FROM |\s*image: )([\w./-]+:[\w.-]+)(?:@sha256:[\da-f]{64})?(?=\s|$)/gm;

/** Asks the registry for the digest of a tag. @throws {OperatorError} if Docker does not return one */
function resolve(tag: string): string {
  const format = '{{.Manifest.Digest}}';
  const { stdout, stderr, error } = spawnSync(
    'docker',
    ['buildx', 'imagetools', 'inspect', '--format', format, tag],
    { encoding: 'utf8' },
  );
  const digest = stdout?.trim() ?? '';
  if (/^sha256:[\da-f]{64}$/.test(digest)) return digest;
  throw new OperatorError(`docker returned no digest of ${tag}: ${(error?.message ?? stderr).trim()}`);
}

runCommand('npm run images:pin', {}, async () => {
  for (const file of ['Dockerfile', 'compose.yaml']) {
    const text = readFileSync(file, 'utf8');
    const pinned = text.replace(REFERENCE, (_all, start: string, tag: string) => {
      const digest = resolve(tag);
      printLine(`${file}: ${tag}@${digest}`);
      return `${start}${tag}@${digest}`;
    });
    if (pinned !== text) writeFileSync(file, pinned);
  }
});
