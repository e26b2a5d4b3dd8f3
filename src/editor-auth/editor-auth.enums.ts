/** How an editor is connected. */
export const editorAuthTypes = ['none', 'subscription'] as const;
export type EditorAuthType = (typeof editorAuthTypes)[number];

/** Why a credential failed permanently, as the platform reports it. */
export const failureReasons = ['token_expired', 'token_revoked', 'refresh_failed'] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Why the user must connect the editor again. `credential_unreadable` is determined at each read, never stored. */
export const reauthReasons = [...failureReasons, 'credential_unreadable'] as const;
export type ReauthReason = (typeof reauthReasons)[number];
