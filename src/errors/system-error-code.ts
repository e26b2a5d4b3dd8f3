/** Returns the code of a system error (`ENOENT`) or PostgreSQL error (`57P03`), if the value has one. */
export function readSystemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
