/** How an editor is connected. */
export const editorAuthMethodTypes = ['none', 'subscription'] as const;
export type EditorAuthMethodType = (typeof editorAuthMethodTypes)[number];

/** Why a credential failed permanently, as the platform reports it. */
export const credentialFailureReasons = ['token_expired', 'token_revoked', 'refresh_failed'] as const;
export type CredentialFailureReason = (typeof credentialFailureReasons)[number];

/** Why the user must connect the editor again. `credential_unreadable` is determined at each read, never stored. */
export const reauthReasons = [...credentialFailureReasons, 'credential_unreadable'] as const;
export type ReauthReason = (typeof reauthReasons)[number];

/** The states of a stored credential. `unreadable` is determined at each read, never stored. */
export const credentialStates = ['connected', 'needs_reauth', 'unreadable'] as const;
export type CredentialState = (typeof credentialStates)[number];
