import { defineEntity } from '@mikro-orm/core';
import { enumColumn, idColumn, textColumn, timeColumn } from '../database/columns.ts';
import { credentialFailureReasons } from './editor-auth.enums.ts';

export const EditorCredentialSchema = defineEntity({
  name: 'EditorCredential',
  tableName: 'editor_credential',
  properties: {
    userId: idColumn().primary(),
    /** A UUIDv7 that is unique to the stored pair. Pairs stored by earlier versions of the gateway have a number. */
    version: idColumn(),
    /** The version that this pair was refreshed from; null if the user stored it. */
    refreshedFrom: idColumn().strictNullable(),
    /** The encrypted pair (JWE compact serialization); null after a deletion. */
    ciphertext: textColumn().strictNullable(),
    /** The ID of the key that encrypted `ciphertext`. */
    keyId: textColumn().strictNullable(),
    /** When the access token expires; null if unknown. */
    expiresAt: timeColumn().strictNullable(),
    reauthReason: enumColumn(credentialFailureReasons).strictNullable(),
    /** The claim on refreshing this version, and its end. */
    claimId: idColumn().strictNullable(),
    claimedUntil: timeColumn().strictNullable(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
  checks: [
    { name: 'editor_credential_whole', expression: '("ciphertext" is null) = ("key_id" is null)' },
    { name: 'editor_credential_reason', expression: '"reauth_reason" is null or "ciphertext" is not null' },
    { name: 'editor_credential_claim', expression: '("claim_id" is null) = ("claimed_until" is null)' },
  ],
  indexes: [
    { name: 'editor_credential_by_key', properties: ['keyId'] },
    {
      name: 'editor_credential_expiring',
      properties: ['expiresAt', 'userId'],
      where: 'expires_at is not null',
    },
    {
      name: 'editor_credential_newest',
      properties: ['createdAt', 'userId'],
      where: 'ciphertext is not null',
    },
    {
      name: 'editor_credential_failed',
      properties: ['createdAt', 'userId'],
      where: 'reauth_reason is not null',
    },
  ],
});

export class EditorCredential extends EditorCredentialSchema.class {}
EditorCredentialSchema.setClass(EditorCredential);
