import { ValidationError } from '../../errors/gateway-errors.ts';
import type { Path } from '../../errors/issue.ts';
import type { NotificationPayload } from '../payload.ts';
import type { SupersedeScope } from './answer.enums.ts';

/**
 * Returns the slot of a publication: one for the task and kind, one for each tool call, or one of its own.
 * @throws {ValidationError} for `tool_call` without a tool ID in the payload
 */
export function findSlot(
  supersedes: SupersedeScope,
  { id, payload }: { id: string; payload: NotificationPayload },
  path: Path,
): string {
  if (supersedes === 'task_and_kind') return '';
  if (supersedes === 'nothing') return `id:${id}`;
  if ('toolId' in payload) return `tool:${payload.toolId}`;
  const message = 'must not be TOOL_CALL, because the payload has no tool ID';
  throw new ValidationError([{ path: [...path, 'supersedes'], message, value: 'TOOL_CALL' }]);
}
