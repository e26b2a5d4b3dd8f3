import {
  ForbiddenError,
  type GatewayError,
  RateLimitedError,
  UnauthenticatedError,
} from './gateway-errors.ts';

/** Returns the headers of an error: the challenge of RFC 6750, section 3, or `Retry-After`. */
export function errorHeaders(error: GatewayError): Readonly<Record<string, string>> {
  if (error instanceof UnauthenticatedError) {
    return { 'WWW-Authenticate': error.tokenSent ? 'Bearer error="invalid_token"' : 'Bearer' };
  }
  if (error instanceof ForbiddenError) return { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' };
  return error instanceof RateLimitedError ? { 'Retry-After': String(error.retryAfter) } : {};
}
