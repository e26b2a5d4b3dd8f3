import { execFileSync } from 'node:child_process';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** A certificate and its private key, in PEM. */
export type Certificate = { cert: string; key: string };

/** Creates a self-signed certificate for alternative names such as `DNS:mail.test` and `IP:127.0.0.1`. */
export function createCertificate(...names: readonly string[]): Certificate {
  const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=gateway test', '-addext', `subjectAltName=${names.join(',')}`];
  const options = { encoding: 'utf8', stdio: 'pipe' } as const;
  const output = execFileSync('openssl', ['req', '-x509', ...type, ...subject, '-keyout', '-'], options);
  const start = output.indexOf('-----BEGIN CERTIFICATE-----');
  return { key: output.slice(0, start), cert: output.slice(start) };
}

/** Makes this process trust a certificate, as `NODE_EXTRA_CA_CERTS` does, until the returned function is called. */
export function trustCertificate({ cert }: Certificate): () => void {
  const authorities = getCACertificates('default');
  setDefaultCACertificates([...authorities, cert]);
  return () => setDefaultCACertificates(authorities);
}
