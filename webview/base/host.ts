import { makeUnpacker } from '../../src/protocol/packed';
import type { HostMessage, PageMessage } from '../../src/protocol/page';

/** The page's side of the transport. */
export interface Host {
  readonly post: (message: PageMessage) => void;
  readonly saved: () => unknown;
  readonly save: (state: unknown) => void;
}

declare function acquireVsCodeApi(): {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
};

/** Connects to VS Code; may be called once per page. */
export function connect(onMessage: (message: HostMessage) => void): Host {
  const api = acquireVsCodeApi();
  const unpacked = makeUnpacker();
  window.addEventListener('message', (event: MessageEvent<unknown>) => {
    const message = unpacked(event.data);
    if (isHostMessage(message)) onMessage(message);
  });
  return {
    post: (message) => api.postMessage(message),
    saved: () => api.getState(),
    save: (state) => api.setState(state),
  };
}

/** Whether something that arrived is one of our host's messages. */
function isHostMessage(value: unknown): value is HostMessage {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  if (value.type === 'show') return 'tab' in value;
  if (value.type === 'act') return 'command' in value && 'focus' in value;
  if (value.type === 'update') return 'fields' in value && typeof value.fields === 'object' && value.fields !== null;
  return value.type === 'state' && 'state' in value && typeof value.state === 'object' && value.state !== null;
}
