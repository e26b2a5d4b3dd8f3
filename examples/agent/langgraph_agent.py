"""LangGraph's interrupt, answered in the user's inbox. Needs GATEWAY_URL, TASK_TOKEN, USER_ID, TASK_ID and PROJECT_ID."""
import json
from os import environ
from typing import TypedDict
from urllib.parse import quote
from urllib.request import Request, urlopen

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

HEADERS = {"Authorization": f"Bearer {environ['TASK_TOKEN']}", "Content-Type": "application/json"}
USER, TASK = environ["USER_ID"], {"id": environ["TASK_ID"], "projectId": environ["PROJECT_ID"]}
PUBLISH = "mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }"
AWAIT = """query ($user: ID!, $id: ID!) { request(userId: $user, notificationId: $id, waitSeconds: 50) {
  state answer { questions { labels } } } }"""
def send(query: str, **variables) -> dict:
    body = json.dumps({"query": query, "variables": variables}).encode()
    with urlopen(Request(f"{environ['GATEWAY_URL']}/graphql", body, HEADERS)) as reply: return json.load(reply)["data"]

def ask(name: str, question: dict) -> list[str]:
    # Repeating it with the same name is safe. Without an answer, no option is chosen.
    id = quote(TASK["id"], safe="!~*'()") + ":" + name
    payload = {"questionRequested": {"toolId": name, "input": {"questions": [question]}}}
    draft = {"userId": USER, "id": id, "task": TASK, "title": question["question"], "payload": payload}
    send(PUBLISH, input={**draft, "supersedes": "NOTHING", "expiresInSeconds": 86400})
    while (request := send(AWAIT, user=USER, id=id)["request"])["state"] == "OPEN": pass
    return request["answer"]["questions"][0]["labels"] if request["answer"] else []

def run(state: dict) -> dict:
    labels = interrupt({"question": f"Run {state['command']}?", "options": [{"label": "Yes"}, {"label": "No"}]})
    return {"result": "done" if labels == ["Yes"] else "not done"}

State = TypedDict("State", {"command": str, "result": str}, total=False)
graph = StateGraph(State).add_node("run", run).add_edge(START, "run").compile(InMemorySaver())
thread = {"configurable": {"thread_id": TASK["id"]}}
result = graph.invoke({"command": "npm publish"}, thread)
while pauses := result.get("__interrupt__"):
    result = graph.invoke(Command(resume=ask(pauses[0].id, pauses[0].value)), thread)
print(result["result"])
