import { GatewayError } from '@workspace-account/client';
import { Component, type ContextType, type ReactNode } from 'react';
import { InboxContext } from './inbox-provider.tsx';

type Props = {
  readonly children?: ReactNode;
  /** What is shown instead of the children. `retry` loads again and shows them. */
  readonly fallback: (failure: { readonly error: GatewayError; retry(): void }) => ReactNode;
};

/** An error boundary for the Suspense variants of the hooks. It passes other errors on to the next boundary. */
export class InboxBoundary extends Component<Props, { readonly error?: unknown }> {
  static override contextType = InboxContext;
  declare context: ContextType<typeof InboxContext>;

  override state: { readonly error?: unknown } = {};

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  readonly #retry = () => {
    this.context?.reconnect();
    this.setState({ error: undefined });
  };

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    if (!(error instanceof GatewayError)) throw error;
    return this.props.fallback({ error, retry: this.#retry });
  }
}
