"""A client of the REST API: reads one command per line and prints one line for each."""

import os
import sys

from account_client import AuthenticatedClient
from account_client.api.editor_auth import delete_editor_auth, editor_auth, store_editor_subscription
from account_client.api.notification_preferences import (
    notification_preferences,
    update_notification_preferences,
)
from account_client.api.notifications import dismiss_notification, notifications
from account_client.api.workspaces import workspaces
from account_client.models import (
    DismissNotificationReply,
    EditorAuthStatus,
    EditorSubscription,
    ErrorCode,
    ErrorResponse,
    NotificationKind,
    NotificationPreferenceChange,
    NotificationPreferencesReply,
    NotificationPreferencesUpdate,
    NotificationsReply,
    PlanRequestedNotification,
    QuestionRequestedNotification,
    TaskFailedNotification,
    TaskResponseReadyNotification,
    UpdateNotificationPreferencesReply,
    WorkspacesReply,
)
from account_client.types import UNSET

client = AuthenticatedClient(
    base_url=os.environ["ACCOUNT_URL"],
    token=os.environ["ACCOUNT_TOKEN"],
    raise_on_unexpected_status=True,
)
etags = {}


def explain(response):
    """Formats the parsed body of an error."""
    match response.parsed:
        case ErrorResponse(code=ErrorCode.BAD_REQUEST | ErrorCode.VALIDATION_FAILED as code, errors=items):
            return f"{code}: " + "; ".join(f"{item.location} {item.message}" for item in items)
        case ErrorResponse(code=ErrorCode.UNAUTHENTICATED as code):
            return f"{code}: sign in"
        case ErrorResponse(code=ErrorCode.FORBIDDEN as code):
            return f"{code}: get a wider token"
        case ErrorResponse(code=ErrorCode.ORG_MEMBERSHIP_REQUIRED as code):
            return f"{code}: join an organization"
        case ErrorResponse(code=ErrorCode.RATE_LIMITED as code) if int(response.headers["Retry-After"]) > 0:
            return f"{code}: wait"
        case ErrorResponse(code=code, error=error):
            return f"{code}: {error}"
    raise ValueError(f"unexpected reply {response}")


def describe(notification):
    """Formats a notification using the payload of its kind."""
    match notification:
        case PlanRequestedNotification(payload=payload):
            return f"plan: {payload.summary}"
        case QuestionRequestedNotification(payload=payload):
            return f"question: {payload.input_.questions[0].question}"
        case TaskFailedNotification(payload=payload):
            return f"failed: {payload.message}"
        case TaskResponseReadyNotification(payload=payload):
            return f"{payload.task_status.value}: {payload.message}"
    raise ValueError(f"unexpected variant {notification}")


def inbox(*kinds):
    """Lists notifications, optionally of some kinds only, or reports that they are unchanged since the last call."""
    if kinds:
        response = notifications.sync_detailed(client=client, kind=[NotificationKind(kind) for kind in kinds])
    else:
        response = notifications.sync_detailed(client=client, if_none_match=etags.get("inbox", UNSET))
        etags["inbox"] = response.headers.get("ETag")
    return list_notifications(response)


def page(limit, offset):
    """Lists `limit` notifications after the first `offset`."""
    return list_notifications(
        notifications.sync_detailed(client=client, limit=int(limit), offset=int(offset))
    )


def list_notifications(response):
    match response.parsed:
        case NotificationsReply(notifications=found):
            return "; ".join(describe(notification) for notification in found)
        case None if response.status_code == 304:
            return "unchanged"
    return explain(response)


def list_workspaces():
    response = workspaces.sync_detailed(client=client, if_none_match=etags.get("workspaces", UNSET))
    etags["workspaces"] = response.headers.get("ETag")
    match response.parsed:
        case WorkspacesReply(workspaces=found):
            return "; ".join(describe_workspace(workspace) for workspace in found)
        case None if response.status_code == 304:
            return "unchanged"
    return explain(response)


def describe_workspace(workspace):
    if workspace.error_message:
        return f"{workspace.id} {workspace.status.value}: {workspace.error_message}"
    return f"{workspace.id} {workspace.status.value} on {workspace.hardware.cpus}"


def dismiss(id):
    response = dismiss_notification.sync_detailed(id, client=client)
    match response.parsed:
        case DismissNotificationReply(notification=TaskFailedNotification(status=status)):
            return status.value
    return explain(response)


def preferences():
    """Lists the kinds with email notifications."""
    response = notification_preferences.sync_detailed(client=client)
    match response.parsed:
        case NotificationPreferencesReply(preferences=found):
            return " ".join(it.notification_kind.value for it in found if it.email_enabled)
    return explain(response)


def mail(*kinds):
    """Enables email notifications for these kinds only."""
    others = {"push_enabled": True, "chat_dm_enabled": True}
    changes = [NotificationPreferenceChange(email_enabled=False, **others)]
    for kind in kinds:
        wanted = NotificationKind(kind)
        changes.append(NotificationPreferenceChange(notification_kind=wanted, email_enabled=True, **others))
    response = update_notification_preferences.sync_detailed(
        client=client, body=NotificationPreferencesUpdate(preferences=changes)
    )
    match response.parsed:
        case UpdateNotificationPreferencesReply(preferences=stored):
            return f"{len(stored)} stored"
    return explain(response)


def connect(access_token, refresh_token):
    pair = EditorSubscription(access_token=access_token, refresh_token=refresh_token)
    return describe_editor(store_editor_subscription.sync_detailed(client=client, body=pair))


def editor():
    return describe_editor(editor_auth.sync_detailed(client=client))


def describe_editor(response):
    match response.parsed:
        case EditorAuthStatus(auth=auth, needs_reauth=True, reauth_reason=reason):
            return f"{auth.type_.value}, {reason.value}"
        case EditorAuthStatus(auth=auth):
            return auth.type_.value
    return explain(response)


def disconnect():
    response = delete_editor_auth.sync_detailed(client=client)
    return "disconnected" if response.status_code == 204 else explain(response)


commands = {
    "inbox": inbox,
    "page": page,
    "dismiss": dismiss,
    "preferences": preferences,
    "mail": mail,
    "connect": connect,
    "editor": editor,
    "disconnect": disconnect,
    "workspaces": list_workspaces,
}

for line in sys.stdin:
    name, *arguments = line.split()
    print(commands[name](*arguments))
