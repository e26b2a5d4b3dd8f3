import { BadRequestError } from '../errors/gateway-errors.ts';

/** Creates the error for a request that is not valid HTTP. */
export function createMalformedError(message: string): BadRequestError {
  return new BadRequestError(`The request ${message}.`, [{ path: ['request'], message, value: null }]);
}
