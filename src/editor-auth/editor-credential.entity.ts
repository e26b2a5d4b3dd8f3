import { defineEntity } from '@mikro-orm/core';
import { enumColumn, idColumn, textColumn, timeColumn } from '../database/columns.ts';
import { failureReasons } from './editor-auth.enums.ts';

export const EditorCredentialSchema = defineEntity({
  name: 'EditorCredential',
  tableName: 'editor_credential',
  properties: {
    userId: idColumn().primary(),
    /** A UUIDv7 that is new for every stored pair and never repeats; older rows keep a number. */
    version: idColumn(),
    /** The encrypted pair (JWE compact), null once deleted. */
    ciphertext: textColumn().strictNullable(),
    /** The key that `ciphertext` lies under. */
    keyId: textColumn().strictNullable(),
    reauthReason: enumColumn(failureReasons).strictNullable(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
  checks: [
    { name: 'editor_credential_whole', expression: '("ciphertext" is null) = ("key_id" is null)' },
    { name: 'editor_credential_reason', expression: '"reauth_reason" is null or "ciphertext" is not null' },
  ],
  indexes: [{ name: 'editor_credential_by_key', properties: ['keyId'] }],
});

export class EditorCredential extends EditorCredentialSchema.class {}
EditorCredentialSchema.setClass(EditorCredential);
