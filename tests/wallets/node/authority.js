// A sample IACA and document signer (ISO/IEC 18013-5 Annex B) on @peculiar/x509. They leave out
// issuerAltName and the CRL distribution points, which test-mode sessions tolerate.

import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const MDL_DOCUMENT_SIGNER = '1.0.18013.5.1.2'
const DAY_MS = 86_400_000

x509.cryptoProvider.set(webcrypto)

export class Authority {
  static async create(issuerId, commonName) {
    const authority = new Authority()
    const [rootKeys, signerKeys] = [await generateKeys(), await generateKeys()]
    const root = await createRoot(`C=UT, CN=${commonName} IACA`, rootKeys)
    const signer = await createSigner(`C=UT, CN=${commonName} signer`, signerKeys, root, rootKeys)
    return Object.assign(authority, {
      issuerId,
      rootPem: root.toString('pem'),
      rootDer: new Uint8Array(root.rawData),
      signerPem: signer.toString('pem'),
      signerDer: new Uint8Array(signer.rawData),
      signerJwk: await privateJwk(signerKeys),
    })
  }
}

/** Makes certificates for verifiers. */
export class AccessAuthority {
  static async create() {
    const keys = await generateKeys()
    const root = await createRoot('C=UT, CN=Access', keys)
    return Object.assign(new AccessAuthority(), { keys, root, rootPem: root.toString('pem') })
  }

  /** A certificate for this request, as PEM. */
  async certify(csr) {
    const request = new x509.Pkcs10CertificateRequest(csr)
    const certificate = await x509.X509CertificateGenerator.create({
      subject: request.subject,
      issuer: this.root.subject,
      publicKey: await request.publicKey.export(),
      signingKey: this.keys.privateKey,
      ...validFor(90),
      signingAlgorithm: ECDSA,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        await x509.AuthorityKeyIdentifierExtension.create(this.keys.publicKey),
      ],
    })
    return certificate.toString('pem')
  }
}

/** A fresh P-256 key for a device, as a private JWK. */
export async function generateDeviceKey() {
  return privateJwk(await generateKeys())
}

export const publicJwk = ({ kty, crv, x, y }) => ({ kty, crv, x, y })

const generateKeys = () => webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify'])

async function privateJwk({ privateKey }) {
  const { kty, crv, x, y, d } = await webcrypto.subtle.exportKey('jwk', privateKey)
  return { kty, crv, x, y, d }
}

const validFor = (days) => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + days * DAY_MS),
})

async function createRoot(name, keys) {
  return x509.X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    ...validFor(3650),
    signingAlgorithm: ECDSA,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
}

async function createSigner(subject, keys, root, rootKeys) {
  return x509.X509CertificateGenerator.create({
    subject,
    issuer: root.subject,
    publicKey: keys.publicKey,
    signingKey: rootKeys.privateKey,
    ...validFor(365),
    signingAlgorithm: ECDSA,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([MDL_DOCUMENT_SIGNER], true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(rootKeys.publicKey),
    ],
  })
}
