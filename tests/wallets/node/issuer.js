// An SD-JWT VC issuer on @sd-jwt/sd-jwt-vc; keys and signatures come from WebCrypto.

import { createHash, randomBytes, webcrypto } from 'node:crypto'
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc'

const PARAMETERS = {
  ES256: { namedCurve: 'P-256', hash: 'SHA-256' },
  ES384: { namedCurve: 'P-384', hash: 'SHA-384' },
  ES512: { namedCurve: 'P-521', hash: 'SHA-512' },
}

export const hasher = (data, alg) =>
  createHash(alg.replace('-', '')).update(typeof data === 'string' ? data : Buffer.from(data)).digest()

/** A fresh key: its public JWK and a JWS signer. */
export async function generateKey(alg) {
  const { namedCurve, hash } = PARAMETERS[alg]
  const pair = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve }, true, ['sign'])
  const { kty, crv, x, y } = await webcrypto.subtle.exportKey('jwk', pair.publicKey)
  const signer = async (input) => {
    const raw = await webcrypto.subtle.sign({ name: 'ECDSA', hash }, pair.privateKey, Buffer.from(input))
    return Buffer.from(raw).toString('base64url')
  }
  return { alg, publicJwk: { kty, crv, x, y }, signer }
}

export class Issuer {
  static async create({ issuerId, vct, alg = 'ES256', typ = 'dc+sd-jwt', hashAlg = 'sha-256' }) {
    const issuer = new Issuer()
    const key = await generateKey(alg)
    Object.assign(issuer, { issuerId, vct, typ, publicJwk: key.publicJwk })
    issuer.instance = new SDJwtVcInstance({
      signer: key.signer,
      signAlg: alg,
      hasher,
      hashAlg,
      saltGenerator: (length) => randomBytes(length).toString('base64url'),
    })
    return issuer
  }

  /** A credential for `holder`; `frame` says what is selectively disclosable. */
  async issue(holder, claims, frame) {
    const now = Math.floor(Date.now() / 1000)
    const payload = {
      iss: this.issuerId,
      vct: this.vct,
      iat: now,
      exp: now + 3600,
      cnf: { jwk: holder.publicJwk },
      ...claims,
    }
    return this.instance.issue(payload, frame, { header: { typ: this.typ } })
  }
}
