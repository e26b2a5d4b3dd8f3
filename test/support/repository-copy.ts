import { cp, mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the repository, and links the installed packages. Its own packages are those of the copy. */
export async function copyRepository(folder: string): Promise<void> {
  const isOurs = (path: string) => !/\/(node_modules|dist|\.git|\.data)$/.test(path);
  await cp(repository, folder, { recursive: true, filter: isOurs });
  const own = '@workspace-account';
  for (const packages of ['node_modules', `node_modules/${own}`, 'examples/rest-client/node_modules']) {
    const [from, to] = [join(repository, packages), join(folder, packages)];
    await mkdir(to);
    const entries = await readdir(from, { withFileTypes: true });
    for (const entry of entries.filter(({ name }) => name !== own)) {
      const installed = join(from, entry.name);
      await symlink(entry.isSymbolicLink() ? await readlink(installed) : installed, join(to, entry.name));
    }
  }
}
