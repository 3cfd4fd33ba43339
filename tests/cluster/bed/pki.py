"""Certificates of the cluster: one authority, and what it signs."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Pair:
    """Files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs the certificates of one cluster."""

    def __init__(self, folder: Path, name: str = "test-cluster", alternatives: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = _usage(key_cert_sign=True, crl_sign=True)
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(usage, critical=True)
        if alternatives:
            names = x509.SubjectAlternativeName([_alternative(name) for name in alternatives])
            builder = builder.add_extension(names, critical=False)
        self.pair = _write(folder / "ca", builder.sign(self._key, hashes.SHA256()), self._key)

    def issue(
        self, file: str, name: str, *, organization: str = "", alternatives: Sequence[str] = ()
    ) -> Pair:
        """A certificate for a server and client.

        Args:
            file: Name of its files, without ending.
            name: The common name: who the client is.
            organization: The client's group; empty: none.
            alternatives: Names and addresses of the server.
        """
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organization:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        builder = _builder(x509.Name(attributes), self._name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(), critical=True)
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        if alternatives:
            names = x509.SubjectAlternativeName([_alternative(text) for text in alternatives])
            builder = builder.add_extension(names, critical=False)
        return _write(self.folder / file, builder.sign(self._key, hashes.SHA256()), key)

    def signing_pair(self, file: str) -> Pair:
        """A key with its public half, for tokens of service accounts."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = self.folder / f"{file}.pub"
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
        return Pair(public, _write_key(self.folder / f"{file}.key", key))


def _builder(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not key_cert_sign,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(stem: Path, certificate: x509.Certificate, key: rsa.RSAPrivateKey) -> Pair:
    file = stem.with_suffix(".crt")
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Pair(file, _write_key(stem.with_suffix(".key"), key))


def _write_key(file: Path, key: rsa.RSAPrivateKey) -> Path:
    file.touch(mode=0o600)
    # The operator reads keys in the traditional form (PKCS #1) only.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return file
